
variable "g" { default = 1 }
resource "terraform_data" "src" {
  input = var.g == 1 ? "5" : "abc"
  triggers_replace = var.g
}
resource "lab_thing" "a" {
  name = "a${var.g}"
  size = tonumber(terraform_data.src.output)
  lifecycle { create_before_destroy = true }
}
resource "terraform_data" "dep" { input = lab_thing.a.id }
