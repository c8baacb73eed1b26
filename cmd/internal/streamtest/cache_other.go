//go:build !linux

package main

func dropCache(string) {}
