terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "lab_thing" "p" {
 name="p"
 lifecycle { prevent_destroy=true }
}
resource "lab_thing" "q" {
 name=lab_thing.p.id
}
output "v" {
 value=lab_thing.q.id
}
