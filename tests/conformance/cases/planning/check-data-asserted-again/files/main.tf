terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
    oldlab = { source = "weft.test/lab/oldlab" }
  }
}

resource "lab_thing" "t" {
  name = "t"
}

resource "oldlab_box" "b" {
  name = "b"
}

check "fails_later" {
  data "lab_things" "found" {
  }
  assert {
    condition     = length(data.lab_things.found.names) < 1
    error_message = "There is ${join(", ", data.lab_things.found.names)}."
  }
  assert {
    condition     = local.one < 2
    error_message = "Holds anyway."
  }
}

check "holds_later" {
  data "lab_things" "some" {
  }
  assert {
    condition     = length(data.lab_things.some.names) > 0
    error_message = "There is nothing."
  }
  assert {
    condition     = local.one > 2
    error_message = "Fails anyway."
  }
  assert {
    condition     = length(data.lab_things.some.names) > 9
    error_message = sensitive("Secret.")
  }
}

check "legacy" {
  assert {
    condition     = oldlab_box.b.name == "c"
    error_message = "The name is ${oldlab_box.b.name}."
  }
  assert {
    condition     = oldlab_box.b.id != ""
    error_message = "No id."
  }
}

check "legacy_known" {
  assert {
    condition     = oldlab_box.b.name == "b"
    error_message = "The name is ${oldlab_box.b.name}."
  }
}

check "found_later" {
  data "lab_thing" "t" {
    name = "t"
  }
  assert {
    condition     = data.lab_thing.t.size > 5
    error_message = "Size ${data.lab_thing.t.size == null ? "null" : data.lab_thing.t.size}."
  }
  assert {
    condition     = local.one > 2
    error_message = "Fails anyway."
  }
}

locals {
  one = 1
}
