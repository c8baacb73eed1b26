//go:build race

package engine

// raceDetector says that the race detector watches.
const raceDetector = true
