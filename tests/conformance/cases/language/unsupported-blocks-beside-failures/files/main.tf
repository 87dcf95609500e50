terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
resource "lab_thing" "t" {
 name = nope
}
resource "lab_thing" "u" {
 name = "u"
 dynamic "what" {
 for_each = [1]
 content {
 x = lab_thing.t.id
 }
 }
 frob = lab_thing.t.id
 blob {
 y = lab_thing.t.id
 }
}
resource "lab_thing" "w" {
 name = "w"
 dynamic "what" {
 for_each = lab_thing.t.tags
 content {
 }
 }
}
