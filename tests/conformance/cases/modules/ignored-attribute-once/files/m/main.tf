variable "obj" {
  type = object({ a = number })
}
resource "terraform_data" "a" {
  input = var.obj
}
