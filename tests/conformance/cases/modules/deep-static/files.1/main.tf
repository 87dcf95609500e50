variable "which" {
  default = "one"
}
resource "terraform_data" "d" {
  input = "one"
}
module "mid" {
  source = "./mid"
  which  = terraform_data.d.output
}
