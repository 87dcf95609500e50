run "plan" {
  command = plan
  assert {
    condition     = local.double == 4 && module.m.max == 4 && output.sum == 6 && local.made == "a4"
    error_message = "locals"
  }
  assert {
    condition     = data.lab_echo.e.result.n == 4
    error_message = "data"
  }
  assert {
    condition     = data.lab_region.late.name == "default"
    error_message = "late"
  }
}
run "apply" {
  variables { n = 5 }
  assert {
    condition     = local.double == 10 && module.m.max == 10 && output.sum == 15 && local.made == "a10"
    error_message = "locals"
  }
  assert {
    condition     = data.lab_echo.e.result.name == "a10" && data.lab_region.late.name == "default"
    error_message = jsonencode(data.lab_echo.e.result)
  }
}
