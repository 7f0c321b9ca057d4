@ As `x86-64.S`, with words of four bytes.
	.syntax unified
	.arch armv7-a
	.arm
	.text
	push	{r0-r2, r4-r8, lr}
	adr	r4, block
	mov	r2, #3			@ PROT_READ | PROT_WRITE
	bl	protect
	ldr	r5, [r4]		@ the next entry
	add	r5, r5, r4
	ldr	r6, [r4, #4]		@ the load address
	add	r6, r6, r4
next:	ldr	r0, [r5], #4
	lsrs	r1, r0, #1		@ the lowest bit says which kind it is
	bcs	bitmap
	beq	done
	add	r8, r6, r0
	ldr	r3, [r8]
	add	r3, r3, r6
	str	r3, [r8], #4		@ r8: the first word of a bitmap
	b	next
bitmap:	mov	r3, r8
1:	lsrs	r1, r1, #1
	ldrcs	r0, [r3]
	addcs	r0, r0, r6
	strcs	r0, [r3]
	add	r3, r3, #4
	bne	1b
	add	r8, r8, #31 * 4
	b	next
done:	mov	r2, #1			@ PROT_READ
	bl	protect
	ldr	r3, [r4, #8]
	add	r12, r3, r4
	cmp	r3, #0
	pop	{r0-r2, r4-r8, lr}
	bxeq	lr
	bx	r12
protect:
	ldr	r0, [r4, #12]
	ldr	r1, [r4, #16]
	subs	r1, r1, r0
	bxeq	lr
	add	r0, r0, r4
	mov	r7, #125		@ mprotect
	svc	#0
	cmp	r0, #0
	bxeq	lr
	udf	#0
block:
