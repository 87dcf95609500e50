variable "n" { default = 1 }
locals { l = 1 }
resource "terraform_data" "a" { input = 1 }
module "m" { source = "./m" }
