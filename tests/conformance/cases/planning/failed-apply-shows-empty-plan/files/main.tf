variable "v" {
 default = 1
 validation {
 condition = var.v > 2
 error_message = "no"
 }
}
module "m" {
 source = "./m"
}
resource "terraform_data" "a" {
 input = var.v
}
