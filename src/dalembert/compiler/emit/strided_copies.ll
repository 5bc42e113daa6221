; dst[l, i, j, k] = src[l·outer + i·s0 + j·s1 + k·s2], and back; T is the array's type, S that of the arithmetic
define internal void @gather_${t}(ptr %src, ptr %dst, i64 %lanes, i64 %outer, i64 %n0, i64 %s0, i64 %n1, i64 %s1, i64 %n2, i64 %s2) noinline nounwind {
entry:
  %none = icmp eq i64 %lanes, 0
  br i1 %none, label %done, label %l.loop
l.loop:
  %l = phi i64 [ 0, %entry ], [ %l.next, %l.end ]
  %at.l = phi i64 [ 0, %entry ], [ %at.next, %l.end ]
  %o.l = mul i64 %l, %outer
  %p0 = getelementptr i8, ptr %src, i64 %o.l
  br label %i.loop
i.loop:
  %i = phi i64 [ 0, %l.loop ], [ %i.next, %i.end ]
  %at.i = phi i64 [ %at.l, %l.loop ], [ %at.next, %i.end ]
  %o.i = mul i64 %i, %s0
  %p1 = getelementptr i8, ptr %p0, i64 %o.i
  br label %j.loop
j.loop:
  %j = phi i64 [ 0, %i.loop ], [ %j.next, %j.end ]
  %at.j = phi i64 [ %at.i, %i.loop ], [ %at.next, %j.end ]
  %o.j = mul i64 %j, %s1
  %p2 = getelementptr i8, ptr %p1, i64 %o.j
  br label %k.loop
k.loop:
  %k = phi i64 [ 0, %j.loop ], [ %k.next, %k.loop ]
  %at = phi i64 [ %at.j, %j.loop ], [ %at.next, %k.loop ]
  %o.k = mul i64 %k, %s2
  %p3 = getelementptr i8, ptr %p2, i64 %o.k
  %x = load ${T}, ptr %p3, align 1
  ${widen}
  %to = getelementptr ${S}, ptr %dst, i64 %at
  store ${S} %y, ptr %to
  %at.next = add i64 %at, 1
  %k.next = add i64 %k, 1
  %k.more = icmp slt i64 %k.next, %n2
  br i1 %k.more, label %k.loop, label %j.end
j.end:
  %j.next = add i64 %j, 1
  %j.more = icmp slt i64 %j.next, %n1
  br i1 %j.more, label %j.loop, label %i.end
i.end:
  %i.next = add i64 %i, 1
  %i.more = icmp slt i64 %i.next, %n0
  br i1 %i.more, label %i.loop, label %l.end
l.end:
  %l.next = add i64 %l, 1
  %l.more = icmp slt i64 %l.next, %lanes
  br i1 %l.more, label %l.loop, label %done
done:
  ret void
}
define internal void @scatter_${t}(ptr %src, ptr %dst, i64 %lanes, i64 %outer, i64 %n0, i64 %s0, i64 %n1, i64 %s1, i64 %n2, i64 %s2) noinline nounwind {
entry:
  %none = icmp eq i64 %lanes, 0
  br i1 %none, label %done, label %l.loop
l.loop:
  %l = phi i64 [ 0, %entry ], [ %l.next, %l.end ]
  %at.l = phi i64 [ 0, %entry ], [ %at.next, %l.end ]
  %o.l = mul i64 %l, %outer
  %p0 = getelementptr i8, ptr %src, i64 %o.l
  br label %i.loop
i.loop:
  %i = phi i64 [ 0, %l.loop ], [ %i.next, %i.end ]
  %at.i = phi i64 [ %at.l, %l.loop ], [ %at.next, %i.end ]
  %o.i = mul i64 %i, %s0
  %p1 = getelementptr i8, ptr %p0, i64 %o.i
  br label %j.loop
j.loop:
  %j = phi i64 [ 0, %i.loop ], [ %j.next, %j.end ]
  %at.j = phi i64 [ %at.i, %i.loop ], [ %at.next, %j.end ]
  %o.j = mul i64 %j, %s1
  %p2 = getelementptr i8, ptr %p1, i64 %o.j
  br label %k.loop
k.loop:
  %k = phi i64 [ 0, %j.loop ], [ %k.next, %k.loop ]
  %at = phi i64 [ %at.j, %j.loop ], [ %at.next, %k.loop ]
  %o.k = mul i64 %k, %s2
  %p3 = getelementptr i8, ptr %p2, i64 %o.k
  %from = getelementptr ${S}, ptr %dst, i64 %at
  %x = load ${S}, ptr %from
  ${narrow}
  store ${T} %y, ptr %p3, align 1
  %at.next = add i64 %at, 1
  %k.next = add i64 %k, 1
  %k.more = icmp slt i64 %k.next, %n2
  br i1 %k.more, label %k.loop, label %j.end
j.end:
  %j.next = add i64 %j, 1
  %j.more = icmp slt i64 %j.next, %n1
  br i1 %j.more, label %j.loop, label %i.end
i.end:
  %i.next = add i64 %i, 1
  %i.more = icmp slt i64 %i.next, %n0
  br i1 %i.more, label %i.loop, label %l.end
l.end:
  %l.next = add i64 %l, 1
  %l.more = icmp slt i64 %l.next, %lanes
  br i1 %l.more, label %l.loop, label %done
done:
  ret void
}
