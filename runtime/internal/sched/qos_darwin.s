//go:build !purego

#include "textflag.h"

TEXT pthread_set_qos_class_self_np_trampoline<>(SB), NOSPLIT, $0-0
	JMP libc_pthread_set_qos_class_self_np(SB)

GLOBL ·qosAddr(SB), RODATA, $8
DATA ·qosAddr(SB)/8, $pthread_set_qos_class_self_np_trampoline<>(SB)
