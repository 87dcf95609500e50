override_resource {
  target = lab_thing.zz
}
run "x" { command = plan }
