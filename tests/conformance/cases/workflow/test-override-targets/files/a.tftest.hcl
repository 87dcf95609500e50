override_module {
  target = module.m.n
}
override_module {
  target = module
}
override_data {
  target = data.a.b.c
}
override_resource {
  target = a.b.c.d
}
override_module {
  target = module.m.a.b
}
run "x" {}
