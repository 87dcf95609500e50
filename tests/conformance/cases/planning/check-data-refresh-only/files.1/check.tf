check "size" {
  data "lab_thing" "now" {
    name = "t"
  }
  assert {
    condition     = data.lab_thing.now.size == 1
    error_message = "Size is ${data.lab_thing.now.size}."
  }
}
