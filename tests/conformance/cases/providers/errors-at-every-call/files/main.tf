
variable "f" {}
resource "lab_thing" "a" {
  name = "a"
  fail_on = var.f
}
resource "terraform_data" "after" { input = lab_thing.a.id }
