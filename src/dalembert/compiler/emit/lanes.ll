; dst[e] lane l = *(rows[l] + offset + e·stride), and back
define internal void @lanes_in(ptr %rows, i64 %offset, ptr %dst, i64 %count, i64 %stride) ${inline} nounwind {
entry:
  br label %element
element:
  %e = phi i64 [ 0, %entry ], [ %e.next, %lanes.done ]
  %within = mul i64 %e, %stride
  %from = add i64 %within, %offset
  %first = mul i64 %e, ${width}
  br label %lane
lane:
  %l = phi i64 [ 0, %element ], [ %l.next, %lane ]
  %row.at = getelementptr ptr, ptr %rows, i64 %l
  %row = load ptr, ptr %row.at
  %src = getelementptr i8, ptr %row, i64 %from
  %x = load ${scalar}, ptr %src, align ${align}
  %at = add i64 %first, %l
  %to = getelementptr ${scalar}, ptr %dst, i64 %at
  store ${scalar} %x, ptr %to
  %l.next = add i64 %l, 1
  %l.more = icmp slt i64 %l.next, ${width}
  br i1 %l.more, label %lane, label %lanes.done
lanes.done:
  %e.next = add i64 %e, 1
  %e.more = icmp slt i64 %e.next, %count
  br i1 %e.more, label %element, label %done
done:
  ret void
}
define internal void @lanes_out(ptr %rows, i64 %offset, ptr %src, i64 %count, i64 %stride) ${inline} nounwind {
entry:
  br label %lane
lane:
  %l = phi i64 [ 0, %entry ], [ %l.next, %elements.done ]
  %row.at = getelementptr ptr, ptr %rows, i64 %l
  %row = load ptr, ptr %row.at
  br label %element
element:
  %e = phi i64 [ 0, %lane ], [ %e.next, %element ]
  %first = mul i64 %e, ${width}
  %at = add i64 %first, %l
  %from = getelementptr ${scalar}, ptr %src, i64 %at
  %x = load ${scalar}, ptr %from
  %within = mul i64 %e, %stride
  %to = add i64 %within, %offset
  %dst = getelementptr i8, ptr %row, i64 %to
  store ${scalar} %x, ptr %dst, align ${align}
  %e.next = add i64 %e, 1
  %e.more = icmp slt i64 %e.next, %count
  br i1 %e.more, label %element, label %elements.done
elements.done:
  %l.next = add i64 %l, 1
  %l.more = icmp slt i64 %l.next, ${width}
  br i1 %l.more, label %lane, label %done
done:
  ret void
}
