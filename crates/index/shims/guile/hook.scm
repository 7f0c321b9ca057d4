;; Answers Guile's search for modules from an index, where the directories are as they were.
;;
;; While `primitive-load-path' looks for a file that the index knows, the load path has only the entries that have it, and those that are
;; unknown or have changed. It is whole again before the file's code runs.
(let ((entries (vector @ENTRIES@))      ; strings
      (guards (vector @GUARDS@))        ; path device inode modified changed
      (sections '(@SECTIONS@))          ; (section (entry . guard) ...)
      (names '(@NAMES@)))               ; (name entry ...): sources and compiled files of all names are in one table
  (define numbers (make-hash-table 509))
  (define section-table (make-hash-table 509))
  (define name-table (make-hash-table 1021))
  (define states (make-vector (vector-length guards) #f))
  (define original primitive-load-path)
  ;; For each of the two paths: a copy, the ranks of entries by their number, unknown entries with their ranks, and for each section a
  ;; pair: what has been checked of it and has changed, and what has not been checked yet. Both are lists of (rank entry guard), the latter
  ;; in order.
  (define source-view (vector #f #f '() #f))
  (define compiled-view (vector #f #f '() #f))

  (define (fresh? number)
    (let ((state (vector-ref states number)))
      (if state
          (eq? state 'fresh)
          (let* ((guard (vector-ref guards number))
                 (found (stat (list-ref guard 0) #f))
                 (same (if found
                           (and (= (stat:ino found) (list-ref guard 2))
                                (= (+ (* 1000000000 (stat:mtime found)) (stat:mtimensec found)) (list-ref guard 3))
                                ;; In seconds: stat:ctimensec of Guile 3.0.8 returns the seconds once more.
                                (= (stat:ctime found) (list-ref guard 4))
                                (or (< (list-ref guard 1) 0) (= (stat:dev found) (list-ref guard 1))))
                           (< (list-ref guard 2) 0))))
            (vector-set! states number (if same 'fresh 'stale))
            same))))

  ;; The same strings in the same order. A copy has the strings themselves, and they need not be compared by their letters, which takes
  ;; ten times as long.
  (define (same-strings? one other)
    (if (and (pair? one) (pair? other))
        (and (eq? (car one) (car other)) (same-strings? (cdr one) (cdr other)))
        (eq? one other)))

  (define (view-of! view path)
    (if (not (and (vector-ref view 0) (same-strings? (vector-ref view 0) path)))
        (let ((ranks (make-vector (vector-length entries) #f)))
          (vector-set! view 0 (list-copy path))
          (vector-set! view 1 ranks)
          (vector-set! view 2 '())
          (vector-set! view 3 (make-hash-table 127))
          (let loop ((left path) (rank 0))
            (if (pair? left)
                (let ((number (hash-ref numbers (car left))))
                  (cond ((not number) (vector-set! view 2 (acons rank (car left) (vector-ref view 2))))
                        ((not (vector-ref ranks number)) (vector-set! ranks number rank)))
                  (loop (cdr left) (+ rank 1)))))))
    view)

  (define (sections-of name)
    (let loop ((at (string-index name #\/)) (found '("")))
      (if at
          (loop (string-index name #\/ (+ at 1)) (cons (substring name 0 at) found))
          found)))

  ;; What has changed of a section, at least up to a rank. Each guard is looked at once.
  (define (changed-up-to! view section limit)
    (let* ((ranks (vector-ref view 1))
           (checked (or (hash-ref (vector-ref view 3) section)
                        (let* ((ranked (map (lambda (guarded)
                                              (list (vector-ref ranks (car guarded)) (car guarded) (cdr guarded)))
                                            (hash-ref section-table section '())))
                               (new (cons '() (sort (filter car ranked) (lambda (one other) (< (car one) (car other)))))))
                          (hash-set! (vector-ref view 3) section new)
                          new))))
      (let loop ()
        (let ((left (cdr checked)))
          (if (and (pair? left) (<= (caar left) limit))
              (begin
                (if (not (fresh? (caddar left))) (set-car! checked (cons (car left) (car checked))))
                (set-cdr! checked (cdr left))
                (loop)))))
      (car checked)))

  ;; The entries to search for a name that `having' have: in order, as many as can matter.
  (define (narrowed view path name having)
    (view-of! view path)
    (let* ((ranks (vector-ref view 1))
           (rank-of (lambda (number) (vector-ref ranks number)))
           (best (let loop ((left having) (best #f))
                   (if (null? left)
                       best
                       (let ((rank (rank-of (car left))))
                         (loop (cdr left) (if (and rank (or (not best) (< rank best))) rank best))))))
           (limit (or best (length path)))
           (doubtful '())
           (doubt! (lambda (rank entry)
                     (if (not (assv rank doubtful)) (set! doubtful (acons rank entry doubtful))))))
      (for-each (lambda (unknown) (if (<= (car unknown) limit) (doubt! (car unknown) (cdr unknown))))
                (vector-ref view 2))
      (for-each (lambda (section)
                  (for-each (lambda (changed)
                              (if (<= (car changed) limit) (doubt! (car changed) (vector-ref entries (cadr changed)))))
                            (changed-up-to! view section limit)))
                (sections-of name))
      (let ((before (map cdr (sort (filter (lambda (pair) (not (eqv? (car pair) best))) doubtful)
                                   (lambda (one other) (< (car one) (car other)))))))
        (cond ((not best) before)
              ;; The one that had it has changed: what is behind it may be needed.
              ((assv best doubtful) (append before (list-tail path best)))
              (else (append before (list (list-ref path best))))))))

  (define (load-path name . rest)
    (let ((having (and (string? name) (hash-ref name-table name))))
      (if (not (and having
                    (list? %load-path)
                    (list? %load-compiled-path)
                    (equal? %load-extensions '(".scm" ""))
                    (equal? %load-compiled-extensions '(".go"))))
          (apply original name rest)
          (let ((sources %load-path)
                (compiled %load-compiled-path)
                (hook %load-hook)
                (narrow-sources #f)
                (narrow-compiled #f))
            (define (restore!)
              ;; Unless the program has set them meanwhile.
              (if (eq? %load-path narrow-sources) (set! %load-path sources))
              (if (eq? %load-compiled-path narrow-compiled) (set! %load-compiled-path compiled))
              (if (eq? %load-hook restoring-hook) (set! %load-hook hook)))
            (define (restoring-hook . arguments)
              (restore!)
              (if hook (apply hook arguments)))
            ;; Never the same object as the path itself, which may be unchanged.
            (set! narrow-sources (list-copy (narrowed source-view sources name having)))
            (set! narrow-compiled (list-copy (narrowed compiled-view compiled name having)))
            (dynamic-wind
              (lambda () #f)
              (lambda ()
                (set! %load-path narrow-sources)
                (set! %load-compiled-path narrow-compiled)
                (set! %load-hook restoring-hook)
                (apply original name rest))
              restore!)))))

  (define (recorded log find)
    (define (write-line . fields)
      ;; Its name is not made relative to each entry of the load path, as for a file that is loaded.
      (let ((port (with-fluids ((%file-port-name-canonicalization #f)) (open-file log "a"))))
        (display (string-join (map (lambda (field)
                                     (string-join (string-split
                                                   (string-join (string-split
                                                                 (string-join (string-split field #\\) "\\\\")
                                                                 #\tab) "\\t")
                                                   #\newline) "\\n"))
                                   fields)
                              "\t")
                 port)
        (newline port)
        (close-port port)))
    (define process (lambda () (number->string (getpid))))
    (define logged #f)
    (write-line "P" (process) (or (false-if-exception (readlink "/proc/self/exe")) "") (version))
    (lambda (name . rest)
      (let ((hook %load-hook) (found #f) (paths (cons %load-path %load-compiled-path)))
        (define (noting-hook file)
          (set! found file)
          (if (eq? %load-hook noting-hook) (set! %load-hook hook))
          (if hook (hook file)))
        (if (not (equal? paths logged))
            (begin
              (set! logged paths)
              (apply write-line "S" (process) (append %load-path %load-compiled-path))))
        (set! %load-hook noting-hook)
        (dynamic-wind
          (lambda () #f)
          (lambda () (apply find name rest))
          (lambda ()
            (if (eq? %load-hook noting-hook) (set! %load-hook hook))
            (if found
                (write-line "F" (process) name "" found)
                (write-line "M" (process) name))
            (set! found #f))))))

  (let loop ((number 0))
    (if (< number (vector-length entries))
        (begin
          (hash-set! numbers (vector-ref entries number) number)
          (loop (+ number 1)))))
  (for-each (lambda (section) (hash-set! section-table (car section) (cdr section))) sections)
  (for-each (lambda (name) (hash-set! name-table (car name) (cdr name))) names)
  (lambda (log)
    (if (or log (pair? names))
        (set! primitive-load-path (if log (recorded log load-path) load-path)))
    ;; Whether a directory of a path may have an `init.scm'.
    (lambda (path)
      (pair? (narrowed source-view path "init.scm" (hash-ref name-table "init.scm" '()))))))
