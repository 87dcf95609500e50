removed {
  from = a.b.c.d
}
removed {
  from = a.b["x"].c
}
removed {
  from = a.b.c
}
