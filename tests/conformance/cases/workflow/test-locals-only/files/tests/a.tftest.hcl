run "subnets" {
  command = plan
  assert {
    condition     = output.subnets.b == "10.0.1.0/24" && local.subnets["a"] == "10.0.0.0/24"
    error_message = jsonencode(output.subnets)
  }
}
run "bad" {
  command = plan
  variables { cidr = "x" }
  expect_failures = [var.cidr]
}
run "other" {
  variables { cidr = "192.168.0.0/16" }
  assert {
    condition     = alltrue([for s in values(output.subnets) : startswith(s, "192.168.")])
    error_message = jsonencode(output.subnets)
  }
}
