variable "v" {
  default = "over-a"
}
resource "terraform_data" "x" {
  input = "over"
}
module "m" {
  name = "over"
}
