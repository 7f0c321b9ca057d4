# As `x86-64.S`, with words of four bytes.
	.text
	endbr32
	push	%ebx
	push	%esi
	push	%edi
	push	%ebp
	call	1f
1:	pop	%ebp
	add	$block - 1b, %ebp
	push	$3			# PROT_READ | PROT_WRITE
	pop	%edx
	call	protect
	mov	(%ebp), %esi		# the next entry
	add	%ebp, %esi
	mov	4(%ebp), %ebx		# the load address
	add	%ebp, %ebx
next:	lodsl
	shr	%eax			# the lowest bit says which kind it is
	jc	bitmap
	jz	done
	lea	(%ebx,%eax,2), %edi
	add	%ebx, (%edi)
	add	$4, %edi		# the first word of a bitmap
	jmp	next
bitmap:	mov	%edi, %ecx
1:	shr	%eax
	jnc	2f
	add	%ebx, (%ecx)
2:	add	$4, %ecx
	test	%eax, %eax
	jnz	1b
	add	$31 * 4, %edi
	jmp	next
done:	push	$1			# PROT_READ
	pop	%edx
	call	protect
	mov	8(%ebp), %eax
	add	%ebp, %eax
	cmp	%ebp, %eax
	pop	%ebp
	pop	%edi
	pop	%esi
	pop	%ebx
	je	1f
	jmp	*%eax
1:	ret
protect:
	mov	12(%ebp), %ebx
	mov	16(%ebp), %ecx
	sub	%ebx, %ecx
	jz	1f
	add	%ebp, %ebx
	push	$125			# mprotect
	pop	%eax
	int	$0x80
	test	%eax, %eax
	jnz	2f
1:	ret
2:	ud2
	.balign	4, 0xcc
block:
