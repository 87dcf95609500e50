provider "lab" {
  alias = "bad"
  fail_configure = "no way"
}
resource "lab_thing" "b" { name = "b" }
check "c" {
  data "lab_region" "q" { provider = lab.bad }
  assert {
    condition = data.lab_region.q.name == "x"
    error_message = "m"
  }
}
