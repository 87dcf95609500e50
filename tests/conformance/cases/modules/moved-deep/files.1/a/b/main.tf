terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
resource "lab_thing" "deep" {
  for_each = toset(["0", "1"])
  name = "deep${each.key}"
}
moved {
  from = lab_thing.deep[0]
  to = lab_thing.deep["0"]
}
moved {
  from = lab_thing.deep[1]
  to = lab_thing.deep["1"]
}
