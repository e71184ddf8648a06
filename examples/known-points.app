# What the points of known-points mean: docs/apps.md has the language.
app shop known-points
values order 7=seven 8=eight

span lock wait
begin lock func known_wait(order:int, text=+0(@known_text):string) if order=7 : waits for order {order|order}; SQL: {text}
begin lock func known_wait(order:int, text=+0(@known_text):string) : waits for another order, {order}
end lock func known_waited

span job work
begin job func known_job(name:string) : job {name}
end job func known_job_done

# Only if asked for: --app examples/known-points.app,costly
span round hold costly
begin round usdt holdup_known:job(number:int) : has begun round {number}
end round func known_job_done

# Not in this program: left out without a word.
span gone wait
begin gone func there_is_no_such_function : never
end gone return there_is_no_such_function
