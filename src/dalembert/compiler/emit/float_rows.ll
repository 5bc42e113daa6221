; contiguous rows of floats are one long row, converted eight at a time, and back
define internal void @flat_gather(ptr %narrow, ptr %wide, i64 %count) noinline nounwind {
entry:
  %some = icmp sge i64 %count, 8
  br i1 %some, label %eights, label %rest
eights:
  %k = phi i64 [ 0, %entry ], [ %k.next, %eights ]
  %n = getelementptr float, ptr %narrow, i64 %k
  %w = getelementptr double, ptr %wide, i64 %k
  %x = load <8 x float>, ptr %n, align 1
  %y = fpext <8 x float> %x to <8 x double>
  store <8 x double> %y, ptr %w, align 8
  %k.next = add i64 %k, 8
  %k.end = add i64 %k.next, 8
  %k.more = icmp sle i64 %k.end, %count
  br i1 %k.more, label %eights, label %rest
rest:
  %r = phi i64 [ 0, %entry ], [ %k.next, %eights ]
  %left = icmp slt i64 %r, %count
  br i1 %left, label %ones, label %done
ones:
  %j = phi i64 [ %r, %rest ], [ %j.next, %ones ]
  %n1 = getelementptr float, ptr %narrow, i64 %j
  %w1 = getelementptr double, ptr %wide, i64 %j
  %x1 = load float, ptr %n1, align 1
  %y1 = fpext float %x1 to double
  store double %y1, ptr %w1, align 8
  %j.next = add i64 %j, 1
  %j.more = icmp slt i64 %j.next, %count
  br i1 %j.more, label %ones, label %done
done:
  ret void
}

define internal void @flat_scatter(ptr %narrow, ptr %wide, i64 %count) noinline nounwind {
entry:
  %some = icmp sge i64 %count, 8
  br i1 %some, label %eights, label %rest
eights:
  %k = phi i64 [ 0, %entry ], [ %k.next, %eights ]
  %n = getelementptr float, ptr %narrow, i64 %k
  %w = getelementptr double, ptr %wide, i64 %k
  %x = load <8 x double>, ptr %w, align 8
  %y = fptrunc <8 x double> %x to <8 x float>
  store <8 x float> %y, ptr %n, align 1
  %k.next = add i64 %k, 8
  %k.end = add i64 %k.next, 8
  %k.more = icmp sle i64 %k.end, %count
  br i1 %k.more, label %eights, label %rest
rest:
  %r = phi i64 [ 0, %entry ], [ %k.next, %eights ]
  %left = icmp slt i64 %r, %count
  br i1 %left, label %ones, label %done
ones:
  %j = phi i64 [ %r, %rest ], [ %j.next, %ones ]
  %n1 = getelementptr float, ptr %narrow, i64 %j
  %w1 = getelementptr double, ptr %wide, i64 %j
  %x1 = load double, ptr %w1, align 8
  %y1 = fptrunc double %x1 to float
  store float %y1, ptr %n1, align 1
  %j.next = add i64 %j, 1
  %j.more = icmp slt i64 %j.next, %count
  br i1 %j.more, label %ones, label %done
done:
  ret void
}
