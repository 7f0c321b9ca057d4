// As `x86-64.S`. Pages may be of 4, 16 or 64 KiB.
	.text
	hint	#34			// bti c
	stp	x0, x1, [sp, #-32]!
	stp	x2, x30, [sp, #16]
	adr	x9, block
	mov	w10, #3			// PROT_READ | PROT_WRITE
	bl	protect
	ldrsw	x11, [x9]		// the next entry
	add	x11, x11, x9
	ldrsw	x12, [x9, #4]		// the load address
	add	x12, x12, x9
next:	ldr	x13, [x11], #8
	cbz	x13, done
	tbnz	x13, #0, bitmap		// the lowest bit says which kind it is
	add	x14, x12, x13
	ldr	x15, [x14]
	add	x15, x15, x12
	str	x15, [x14], #8		// x14: the first word of a bitmap
	b	next
bitmap:	mov	x16, x14
1:	lsr	x13, x13, #1
	cbz	x13, 3f
	tbz	x13, #0, 2f
	ldr	x15, [x16]
	add	x15, x15, x12
	str	x15, [x16]
2:	add	x16, x16, #8
	b	1b
3:	add	x14, x14, #63 * 8
	b	next
done:	mov	w10, #1			// PROT_READ
	bl	protect
	ldrsw	x16, [x9, #8]
	ldp	x2, x30, [sp, #16]
	ldp	x0, x1, [sp], #32
	cbz	x16, 1f
	add	x16, x16, x9
	br	x16
1:	ret
protect:
	// Whatever else is wrong, the kernel complains of an address that is not a page's first (EINVAL).
	mov	x17, #4096
1:	mov	x0, x17
	mov	x1, xzr
	mov	w2, wzr
	mov	w8, #226		// mprotect
	svc	#0
	cmn	x0, #22
	b.ne	2f
	lsl	x17, x17, #1
	tbz	x17, #17, 1b
	udf	#0
2:	neg	x17, x17
	ldrsw	x0, [x9, #12]
	add	x0, x0, x9
	and	x0, x0, x17
	ldrsw	x1, [x9, #16]
	add	x1, x1, x9
	and	x1, x1, x17
	subs	x1, x1, x0
	b.ls	3f
	mov	w2, w10
	svc	#0
	cbnz	x0, 4f
3:	ret
4:	udf	#0
block:
