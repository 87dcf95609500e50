terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

resource "lab_thing" "good" {
  name = "good"
}

resource "lab_thing" "bad" {
  name    = "bad"
  fail_on = "create"
}

output "static" {
  value = "known"
}

output "good_name" {
  value = lab_thing.good.name
}

output "bad_name" {
  value = lab_thing.bad.name
}

output "bad_id" {
  value = lab_thing.bad.id
}

output "both" {
  value = [lab_thing.bad.name, lab_thing.bad.id]
}

output "after" {
  value      = "after"
  depends_on = [lab_thing.bad]
}
