# Relocates an object by the words behind it, before its own initialisers run. `crates/prove/src/stub.rs` says
# what the numbers at `block` are.
	.text
	endbr64
	# What the loader passes to DT_INIT goes on to the object's own.
	push	%rdi
	push	%rsi
	push	%rdx
	lea	block(%rip), %r8
	push	$3			# PROT_READ | PROT_WRITE
	pop	%rdx
	call	protect
	movslq	(%r8), %rsi		# the next entry
	add	%r8, %rsi
	movslq	4(%r8), %r9		# the load address
	add	%r8, %r9
next:	lodsq
	shr	%rax			# the lowest bit says which kind it is
	jc	bitmap
	jz	done
	lea	(%r9,%rax,2), %rdi
	add	%r9, (%rdi)
	add	$8, %rdi		# the first word of a bitmap
	jmp	next
bitmap:	mov	%rdi, %rcx
1:	shr	%rax
	jnc	2f
	add	%r9, (%rcx)
2:	add	$8, %rcx
	test	%rax, %rax
	jnz	1b
	add	$63 * 8, %rdi
	jmp	next
done:	push	$1			# PROT_READ
	pop	%rdx
	call	protect
	pop	%rdx
	pop	%rsi
	pop	%rdi
	movslq	8(%r8), %rax
	test	%eax, %eax
	jz	1f
	add	%r8, %rax
	jmp	*%rax
1:	ret
protect:
	movslq	12(%r8), %rdi
	movslq	16(%r8), %rsi
	sub	%rdi, %rsi
	jz	1f
	add	%r8, %rdi
	push	$10			# mprotect
	pop	%rax
	syscall
	test	%eax, %eax
	jnz	2f
1:	ret
2:	ud2
	.balign	4, 0xcc
block:
