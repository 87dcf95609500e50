override_resource {
  target = lab_thing.a
}
override_resource {
  target = lab_thing.a
}
run "x" { command = plan }
