variables {
  a = "file-${var.b}"
  z = 1
}
run "one" {
  command = plan
  assert {
    condition     = output.ab == "file-bb" && var.z == 1
    error_message = output.ab
  }
}
run "two" {
  command = plan
  variables {
    b = var.a
    z = 2
  }
  assert {
    condition     = output.ab == "file-ba" && var.z == 2
    error_message = output.ab
  }
}
run "three" {
  command = plan
  variables {
    b = var.z
  }
}
