# Known points of known programs: see docs/apps.md for the language, and for what each costs.

# ------------------------------------------------------------------------------ PostgreSQL
# Built with --enable-dtrace (Debian, Ubuntu and PGDG are). The SQL is what debug_query_string
# points to; a wait for a lock is rare and long, beside what it costs to say so.
app postgresql postgres
values lockmode 1=AccessShareLock 2=RowShareLock 3=RowExclusiveLock 4=ShareUpdateExclusiveLock 5=ShareLock 6=ShareRowExclusiveLock 7=ExclusiveLock 8=AccessExclusiveLock
span lock wait
begin lock usdt postgresql:lock__wait__start(a:u32, b:u32, c:u32, d:u16, type:u8, mode:int, sql=+0(@debug_query_string):string) if type=0 : waits for {mode|lockmode} on relation {b} of database {a}; SQL: {sql}
begin lock usdt postgresql:lock__wait__start(a:u32, b:u32, c:u32, d:u16, type:u8, mode:int, sql=+0(@debug_query_string):string) if type=1 : waits to extend relation {b} of database {a}; SQL: {sql}
begin lock usdt postgresql:lock__wait__start(a:u32, b:u32, c:u32, d:u16, type:u8, mode:int, sql=+0(@debug_query_string):string) if type=4 : waits for the row in place ({c},{d}) of relation {b} of database {a} ({mode|lockmode}); SQL: {sql}
begin lock usdt postgresql:lock__wait__start(a:u32, b:u32, c:u32, d:u16, type:u8, mode:int, sql=+0(@debug_query_string):string) if type=5 : waits for transaction {a} to end, as for a row lock ({mode|lockmode}); SQL: {sql}
begin lock usdt postgresql:lock__wait__start(a:u32, b:u32, c:u32, d:u16, type:u8, mode:int, sql=+0(@debug_query_string):string) if type=6 : waits for virtual transaction {a}/{b} to end ({mode|lockmode}); SQL: {sql}
begin lock usdt postgresql:lock__wait__start(a:u32, b:u32, c:u32, d:u16, type:u8, mode:int, sql=+0(@debug_query_string):string) if type=10 : waits for an advisory lock ({b}, {c}) of database {a} ({mode|lockmode}); SQL: {sql}
begin lock usdt postgresql:lock__wait__start(a:u32, b:u32, c:u32, d:u16, type:u8, mode:int, sql=+0(@debug_query_string):string) : waits for a lock of type {type} ({a}, {b}, {c}, {d}; {mode|lockmode}); SQL: {sql}
end lock usdt postgresql:lock__wait__done(a:u32, b:u32, c:u32, d:u16, type:u8, mode:int, sql=+0(@debug_query_string):string) if type=0 : waits for {mode|lockmode} on relation {b} of database {a}; SQL: {sql}
end lock usdt postgresql:lock__wait__done(a:u32, b:u32, c:u32, d:u16, type:u8, mode:int, sql=+0(@debug_query_string):string) if type=1 : waits to extend relation {b} of database {a}; SQL: {sql}
end lock usdt postgresql:lock__wait__done(a:u32, b:u32, c:u32, d:u16, type:u8, mode:int, sql=+0(@debug_query_string):string) if type=4 : waits for the row in place ({c},{d}) of relation {b} of database {a} ({mode|lockmode}); SQL: {sql}
end lock usdt postgresql:lock__wait__done(a:u32, b:u32, c:u32, d:u16, type:u8, mode:int, sql=+0(@debug_query_string):string) if type=5 : waits for transaction {a} to end, as for a row lock ({mode|lockmode}); SQL: {sql}
end lock usdt postgresql:lock__wait__done(a:u32, b:u32, c:u32, d:u16, type:u8, mode:int, sql=+0(@debug_query_string):string) if type=6 : waits for virtual transaction {a}/{b} to end ({mode|lockmode}); SQL: {sql}
end lock usdt postgresql:lock__wait__done(a:u32, b:u32, c:u32, d:u16, type:u8, mode:int, sql=+0(@debug_query_string):string) if type=10 : waits for an advisory lock ({b}, {c}) of database {a} ({mode|lockmode}); SQL: {sql}
end lock usdt postgresql:lock__wait__done(a:u32, b:u32, c:u32, d:u16, type:u8, mode:int, sql=+0(@debug_query_string):string) : waits for a lock of type {type} ({a}, {b}, {c}, {d}; {mode|lockmode}); SQL: {sql}
end lock usdt postgresql:transaction__abort
span release mark
begin release func ProcLockWakeup(sql=+0(@debug_query_string):string) : lets go of a lock; SQL: {sql}
span checkpoint work
begin checkpoint usdt postgresql:checkpoint__start : checkpoint
end checkpoint usdt postgresql:checkpoint__done
span transaction hold costly
begin transaction usdt postgresql:transaction__start : idle in transaction
end transaction usdt postgresql:transaction__commit
end transaction usdt postgresql:transaction__abort
span sql work costly
begin sql usdt postgresql:query__start(sql:string) : SQL: {sql}
end sql usdt postgresql:query__done
end sql usdt postgresql:transaction__abort
span lwlock wait costly
begin lwlock usdt postgresql:lwlock__wait__start(tranche:string, mode:int) : waits for the lightweight lock {tranche}
end lwlock usdt postgresql:lwlock__wait__done

# --------------------------------------------------------------------------------- MariaDB
# No USDT points. Waits for metadata locks say what SHOW PROCESSLIST shows as State.
app mariadb mariadbd mysqld
values command 1=quit 3=query 22=prepare 23=execute
span metadata wait
begin metadata func _ZN8MDL_wait10timed_waitEP17MDL_context_ownerP8timespecbPK17PSI_stage_info_v1(stage=+0(+8(%r8)):string) : {stage}
end metadata return _ZN8MDL_wait10timed_waitEP17MDL_context_ownerP8timespecbPK17PSI_stage_info_v1
span sql work costly
begin sql func _Z16dispatch_command19enum_server_commandP3THDPcjb(command:u32, thd, sql:string, length:u32) if command=3 : SQL: {sql.length}
end sql return _Z16dispatch_command19enum_server_commandP3THDPcjb

# --------------------------------------------------------------------------------- HotSpot
# Monitors have points only with -XX:+ExtendedDTraceProbes (then with their class); without it the
# slow path into a monitor that another thread owns is known by its symbol.
app java libjvm.so
via java ../lib/server/libjvm.so
span monitor wait
begin monitor func _ZN13ObjectMonitor6EnterIEP10JavaThread(monitor:x64) : waits for the Java monitor {monitor|hex}
end monitor return _ZN13ObjectMonitor6EnterIEP10JavaThread
span class wait
begin class usdt hotspot:monitor__contended__enter(thread:s64, monitor:x64, class:string, length:int) : waits for the Java monitor of an object of class {class.length}
end class usdt hotspot:monitor__contended__entered(thread:s64, monitor:x64, class:string, length:int) : waits for the Java monitor of an object of class {class.length}
span object wait
begin object usdt hotspot:monitor__wait(thread:s64, monitor:x64, class:string, length:int, timeout:s64) : in Object.wait() on an object of class {class.length}
end object usdt hotspot:monitor__waited(thread:s64, monitor:x64, class:string, length:int) : in Object.wait() on an object of class {class.length}
span sleep wait
begin sleep usdt hotspot:thread__sleep__begin : in Thread.sleep()
end sleep usdt hotspot:thread__sleep__end
span gc work
begin gc usdt hotspot:gc__begin(full:u8) if full=1 : full garbage collection
begin gc usdt hotspot:gc__begin(full:u8) : garbage collection
end gc usdt hotspot:gc__end
span operation work
begin operation usdt hotspot:vmops__begin(name:string, length:int, mode:int) : VM operation {name.length}
end operation usdt hotspot:vmops__end(name:string, length:int) : VM operation {name.length}
span park wait costly
begin park usdt hotspot:thread__park__begin : parked in LockSupport.park(), as java.util.concurrent waits
end park usdt hotspot:thread__park__end

# --------------------------------------------------------------------------------- CPython
app python python3* libpython3*
via python3*
span import work nests
begin import usdt python:import__find__load__start(name:string) : imports module {name}
end import usdt python:import__find__load__done
span gc work costly
begin gc usdt python:gc__start(generation:int) : garbage collection, generation {generation}
end gc usdt python:gc__done
span gil wait costly
begin gil func PyEval_RestoreThread : waits for the GIL
end gil return PyEval_RestoreThread
span take wait costly
begin take func take_gil : waits for the GIL
end take return take_gil

# ----------------------------------------------------------------------------------- Redis
# (the file is one with other names: links lead to it)
app redis redis-server redis-check-rdb
span command work
begin command func debugCommand : DEBUG
end command return debugCommand
begin command func keysCommand : KEYS
end command return keysCommand
begin command func sortCommand : SORT
end command return sortCommand
begin command func flushallCommand : FLUSHALL
end command return flushallCommand
span save work
begin save func rdbSave : saves all data (RDB)
end save return rdbSave
begin save func rdbLoad : loads all data (RDB)
end save return rdbLoad
span script work costly
begin script func evalGenericCommand : Lua script (EVAL)
end script return evalGenericCommand

# ----------------------------------------------------------------------------------- nginx
app nginx nginx
span file work costly
begin file func ngx_open_cached_file(cache, name=+0(+8(%si)):string) : opens {name}
end file return ngx_open_cached_file

# ------------------------------------------------------------------------------------ glibc
app glibc libc.so.6
span resolve work
begin resolve func getaddrinfo(name:string) : resolves the name {name}
end resolve return getaddrinfo

# ------------------------------------------------------------------------------------- node
app node node
span gc work
begin gc func _ZN2v88internal4Heap14CollectGarbage* : garbage collection
end gc return _ZN2v88internal4Heap14CollectGarbage*
