resource "terraform_data" "a" {
  count = 3
}
resource "terraform_data" "b" {
}
variable "list" {
  default = [1, 0]
}
