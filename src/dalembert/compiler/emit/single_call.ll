; a CPython function: an array for a kernel's result at one state, or None if the gufunc must be called
define ptr @single(ptr %self, ptr %args, i64 %count) {
entry:
  %arrays = alloca ptr, i64 ${most}
  %table = getelementptr i8, ptr %self, i64 ${table}
${loads}
  %fits = icmp eq i64 %count, %inputs
  br i1 %fits, label %look, label %refuse
look:
  %i = phi i64 [ 0, %entry ], [ %next, %taken ]
  %more = icmp ult i64 %i, %inputs
  br i1 %more, label %one, label %make
one:
  %arg.at = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.at
  %class.at = getelementptr i8, ptr %arg, i64 ${class_}
  %class = load i64, ptr %class.at
  %is.array = icmp eq i64 %class, %ndarray
  br i1 %is.array, label %array, label %refuse
array:
  %type.at = getelementptr i8, ptr %arg, i64 ${type}
  %type = load i64, ptr %type.at
  %is.double = icmp eq i64 %type, %float64
  %axes.at = getelementptr i8, ptr %arg, i64 ${axes}
  %number = load i32, ptr %axes.at
  %is.row = icmp eq i32 %number, 1
  %flags.at = getelementptr i8, ptr %arg, i64 ${flags}
  %flags = load i32, ptr %flags.at
  %laid = and i32 %flags, ${well}
  %is.well = icmp eq i32 %laid, ${well}
  %so.far = and i1 %is.double, %is.row
  %good = and i1 %so.far, %is.well
  br i1 %good, label %row, label %refuse
row:
  %lengths.at = getelementptr i8, ptr %arg, i64 ${lengths}
  %lengths = load ptr, ptr %lengths.at
  %length = load i64, ptr %lengths
  %wanted.i = add i64 %i, ${sizes}
  %wanted.at = getelementptr i64, ptr %table, i64 %wanted.i
  %wanted = load i64, ptr %wanted.at
  %is.long = icmp eq i64 %length, %wanted
  br i1 %is.long, label %taken, label %refuse
taken:
  %data.at = getelementptr i8, ptr %arg, i64 ${data}
  %data = load ptr, ptr %data.at
  %slot = getelementptr ptr, ptr %arrays, i64 %i
  store ptr %data, ptr %slot
  %next = add i64 %i, 1
  br label %look
make:
  %float64.at = inttoptr i64 %float64 to ptr
  %retain.at = inttoptr i64 %retain to ptr
  call void %retain.at(ptr %float64.at)
  %new.at = inttoptr i64 %new to ptr
  %ndarray.at = inttoptr i64 %ndarray to ptr
  %shape.at = getelementptr i8, ptr %table, i64 %shape
  %axes32 = trunc i64 %axes to i32
  %out = call ptr %new.at(ptr %ndarray.at, ptr %float64.at, i32 %axes32, ptr %shape.at, ptr null, ptr null, i32 0, ptr null)
  %failed = icmp eq ptr %out, null
  br i1 %failed, label %give, label %run
run:
  %out.data.at = getelementptr i8, ptr %out, i64 ${data}
  %out.data = load ptr, ptr %out.data.at
  %out.slot = getelementptr ptr, ptr %arrays, i64 %inputs
  store ptr %out.data, ptr %out.slot
  %test.at = inttoptr i64 %test to ptr
  %before = call i32 %test.at(i32 ${mask})
  %quiet = icmp eq i32 %before, 0
  br i1 %quiet, label %compute, label %wipe
wipe:
  %clear.at = inttoptr i64 %clear to ptr
  %wiped = call i32 %clear.at(i32 ${mask})
  br label %compute
compute:
  %loop.at = inttoptr i64 %loop to ptr
  %dims.at = getelementptr i8, ptr %table, i64 %dims
  %steps.at = getelementptr i8, ptr %table, i64 %steps
  call void %loop.at(ptr %arrays, ptr %dims.at, ptr %steps.at, ptr null)
  %after = call i32 %test.at(i32 ${mask})
  %fine = icmp eq i32 %after, 0
  br i1 %fine, label %give, label %drop
give:
  ret ptr %out
drop:
  %release.at = inttoptr i64 %release to ptr
  call void %release.at(ptr %out)
  br label %refuse
refuse:
  %none.at = inttoptr i64 %none to ptr
  %retain.none = inttoptr i64 %retain to ptr
  call void %retain.none(ptr %none.at)
  ret ptr %none.at
}
