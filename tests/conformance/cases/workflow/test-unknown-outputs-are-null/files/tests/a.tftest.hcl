run "p" {
  command = plan
  assert {
    condition = output.obj.v == "x"
    error_message = "v"
  }
  assert {
    condition = output.obj.id == null
    error_message = "id"
  }
  assert {
    condition = length(output.list) == 1
    error_message = "l"
  }
  assert {
    condition = output.list[0] == "q"
    error_message = "first"
  }
  assert {
    condition = module.m.id != null
    error_message = "mid"
  }
  assert {
    condition = module.m.v == "x"
    error_message = "mv"
  }
}
