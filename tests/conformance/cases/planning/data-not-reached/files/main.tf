
variable "n" { default = "a" }
variable "fail" { default = null }
resource "lab_thing" "a" {
  name = var.n
  fail_on = var.fail
}
data "lab_thing" "d" {
  name = lab_thing.a.name
  depends_on = [lab_thing.a]
}
resource "terraform_data" "t" { input = data.lab_thing.d.id }
