
resource "lab_thing" "a" {
  name = "a"
}

data "lab_thing" "d" { name = lab_thing.a.name }
check "c" {
  assert {
    condition     = data.lab_thing.d.id != ""
    error_message = "color ${data.lab_thing.d.color}"
  }
}
