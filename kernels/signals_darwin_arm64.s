//go:build !purego

#include "textflag.h"

TEXT pthread_sigmask_trampoline<>(SB), NOSPLIT, $0-0
	JMP libc_pthread_sigmask(SB)

GLOBL ·sigmaskAddr(SB), RODATA, $8
DATA ·sigmaskAddr(SB)/8, $pthread_sigmask_trampoline<>(SB)
