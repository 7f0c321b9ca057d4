;; Written by coldstart. Guile loads the first `init.scm' of its load path when it starts, and evaluates it form by form, which takes long: all
;; that can be compiled is. This starts the compiled hook of the version that runs, or else `order.scm' alone, and then loads the `init.scm'
;; that would have been first.
(let ((shim (dirname (port-filename (current-load-port)))))
  (let ((next (catch #t
                (lambda () ((load-compiled (string-append shim "/" (version) ".go")) shim))
                (lambda _
                  (catch #t
                    (lambda () ((primitive-load (string-append shim "/order.scm")) shim #f))
                    (lambda _ #f))))))
    (if next (primitive-load next))))
