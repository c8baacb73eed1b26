// Package server answers HTTP requests in the manner of OpenAI's API over one engine, in one process.
//
// Its nouns: a Server (an engine with a queue and a pool of sessions), a job (one request, parsed and checked), a ticket (a job's place in the queue), a sink (what
// turns the steps of an answer into a response, whole or as a stream of events).
//
// What is not supported is refused with 400 and a reason; README.md lists it. Nothing a request contains ends the process.
//
// The package must not know containers, kernels or templates: it speaks to the engine's face only. Read server.go, generate.go, request.go.
package server
