run "p" {
  command = plan
  assert {
    condition = output.mixed.name == "n" && output.mixed.id == null
    error_message = "mixed"
  }
  assert {
    condition = output.mixed.list[1] == 1 && output.mixed.list[0] == null
    error_message = "list"
  }
  assert {
    condition = output.sens == null
    error_message = "sens"
  }
  assert {
    condition = output.m == null && output.str == null
    error_message = "m"
  }
  assert {
    condition = module.m.o == "x"
    error_message = "module"
  }
}
run "q" {
  command = plan
  variables { n = run.p.mixed.name }
  assert {
    condition = startswith(output.str, "x-")
    error_message = "str"
  }
}
run "r" {
  variables { n = run.p.str == null ? "nul" : "full" }
  assert {
    condition = lab_thing.a.name == "nul"
    error_message = lab_thing.a.name
  }
}
