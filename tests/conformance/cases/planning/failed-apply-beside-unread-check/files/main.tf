terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
resource "lab_thing" "a" {
  name = "a"

}
resource "lab_thing" "f" {
  name = "f"
  fail_on = "create"
}
check "c" {
  data "lab_thing" "d" {
    name = "none-${lab_thing.a.id}"
  }
  assert {
    condition = data.lab_thing.d.size > 1
    error_message = "small"
  }
  assert {
    condition = lab_thing.a.size > 1
    error_message = "small a"
  }
}
