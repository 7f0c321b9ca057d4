;; Written by coldstart. In the variables Guile's own directories, for which "..." stands, are in front, so that Guile finds its first thirty
;; files at once. This puts both paths in order, and starts the hook: `install', the one of a start that is recorded, or none. Another version
;; sees the variables as they were given. Returns the `init.scm' that is first now, or #f.
(lambda (shim install)
  (let* ((log (getenv "COLDSTART_INDEX_LOG_GUILE"))
         ;; What was given: behind "..." in the variable.
         (given (lambda (variable)
                  (let ((value (getenv variable)))
                    (if value
                        (let ((behind (member "..." (string-split value #\:))))
                          (if (pair? behind) (cdr behind) '()))
                        '()))))
         (in-order (lambda (path given)
                     (let* ((own (list-head path (max 0 (- (length path) (length given)))))
                            (behind (member "..." given)))
                       (if behind
                           (append (list-head given (- (length given) (length behind))) own (cdr behind))
                           (append given own)))))
         (restore (lambda (variable given)
                    (if (null? given) (unsetenv variable) (setenv variable (string-join given ":")))))
         (sources (given "GUILE_LOAD_PATH"))
         (compiled (given "GUILE_LOAD_COMPILED_PATH"))
         (has-init? (lambda (path) #t)))
    (cond (install (set! has-init? (install log)))
          (log (catch #t
                 (lambda () ((primitive-load (string-append shim "/hook.scm")) log))
                 (lambda _ #f)))
          (else
           (restore "GUILE_LOAD_PATH" sources)
           (restore "GUILE_LOAD_COMPILED_PATH" compiled)))
    (set! %load-path (in-order (delete shim %load-path) sources))
    (set! %load-compiled-path (in-order %load-compiled-path compiled))
    (and (has-init? %load-path) (%search-load-path "init.scm"))))
