;; Written by coldstart. Guile loads the first `init.scm' of its load path when it starts. In the variables Guile's own directories, for which
;; "..." stands, are in front, so that Guile finds its first thirty files at once. This puts both paths in order, starts the hook, and loads
;; the `init.scm' that would have been first.
(let* ((shim (let ((file (current-load-port)))
               (and file (port-filename file) (dirname (port-filename file)))))
       (log (getenv "COLDSTART_INDEX_LOG_GUILE"))
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
       (sources (given "GUILE_LOAD_PATH"))
       (compiled (given "GUILE_LOAD_COMPILED_PATH")))
  (set! %load-path (in-order (delete shim %load-path) sources))
  (set! %load-compiled-path (in-order %load-compiled-path compiled))
  (catch #t
    (lambda ()
      (let ((hook (string-append shim "/" (version) ".go"))
            (restore (lambda (variable given)
                       (if (null? given) (unsetenv variable) (setenv variable (string-join given ":"))))))
        (cond ((file-exists? hook) ((load-compiled hook) shim log))
              (log ((primitive-load (string-append shim "/hook.scm")) shim log))
              (else
               ;; Another version.
               (restore "GUILE_LOAD_PATH" sources)
               (restore "GUILE_LOAD_COMPILED_PATH" compiled)))))
    (lambda _ #f))
  (let ((next (%search-load-path "init.scm")))
    (if next (primitive-load next))))
