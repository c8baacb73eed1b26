// Package sched runs one function on a fixed set of workers at once, with barriers between its steps, and says how many workers this process may use.
//
// Its nouns: a Pool of workers, the caller being worker 0; a region (one Run); a barrier inside it; a Counter that hands out pieces of a step, a Deal that does so in runs. Above them: a Topology of
// processors, a Plan of the crews that may work in each phase, a Team (a crew at work), a Trial that finds the fastest, a
// Turnout that decides how many of a team work beside other processes.
// It must not know operations, models or files. Read pool.go first, then topology.go, plan.go, team.go and turnout.go.
package sched
