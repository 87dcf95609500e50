variable "v" {
  default = "a"
}
resource "lab_thing" "t" {
  name    = var.v
  fail_on = var.v == "a" ? "delete" : null
  lifecycle {
    create_before_destroy = true
  }
}
resource "terraform_data" "after" {
  input = lab_thing.t.id
}
