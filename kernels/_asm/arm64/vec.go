package main

func vecFile() {}
