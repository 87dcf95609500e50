terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "lab_thing" "a" {
 name="a"
 size=2
 labels={a="1"}
}
resource "lab_thing" "b" {
 name=lab_thing.a.id
 size=lab_thing.a.size
}
data "lab_thing" "d" {
 name=lab_thing.a.name
}
output "s" {
 value=lab_thing.a.size
}
output "ds" {
 value=data.lab_thing.d.size
}
output "l" {
 value=lab_thing.a.labels
}
