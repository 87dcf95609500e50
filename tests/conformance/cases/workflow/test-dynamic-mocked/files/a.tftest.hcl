mock_provider "lab" {
  mock_resource "lab_widget" {
    defaults = { id = "wid" }
  }
}
run "plan" {
  command = plan
  assert {
    condition     = length(lab_thing.a.rule) == 2 && alltrue([for r in lab_thing.a.rule : r.cidr == "wid"])
    error_message = jsonencode(lab_thing.a.rule)
  }
  assert {
    condition     = lab_thing.each["wid"].name == "wid" && lab_thing.opt.name == "opt"
    error_message = "each"
  }
}
run "off" {
  variables { on = false }
  assert {
    condition     = lab_thing.opt == null
    error_message = "opt"
  }
}
