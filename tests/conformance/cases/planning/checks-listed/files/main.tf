terraform { 
  required_providers { 
    lab = { source = "weft.test/lab/lab" } 
  } 
}
variable "used" { 
  default = "a" 
  validation { 
    condition = var.used != "zz"
    error_message = "x" 
  }
}
variable "unused" { 
  default = "a" 
  validation { 
    condition = var.unused != "zz"
    error_message = "x" 
  }
}
variable "vialocal" { 
  default = "a" 
  validation { 
    condition = var.vialocal != "zz"
    error_message = "x" 
  }
}
variable "prov" { 
  default = "a" 
  validation { 
    condition = var.prov != "zz"
    error_message = "x" 
  }
}
variable "outp" { 
  default = "a" 
  validation { 
    condition = var.outp != "zz"
    error_message = "x" 
  }
}
variable "inmod" { 
  default = "a" 
  validation { 
    condition = var.inmod != "zz"
    error_message = "x" 
  }
}
locals { l = var.vialocal }
provider "lab" { region = var.prov }
resource "terraform_data" "a" { 
  input = var.used
  lifecycle { 
    precondition { 
     condition = var.used == "a"
     error_message = "x"
    }
  }
}
resource "terraform_data" "b" { 
  count = 2
  input = local.l 
  lifecycle { 
    precondition { 
     condition = var.used == "a"
     error_message = "x"
    }
  }
}
resource "terraform_data" "none" { 
  count = 0
  lifecycle { 
    precondition { 
     condition = var.used == "a"
     error_message = "x"
    }
  }
}
resource "lab_thing" "t" { name = "x" }
data "lab_echo" "e" {
  value = "q"
  lifecycle { 
    postcondition { 
     condition = self.value == "q"
     error_message = "x"
    }
  }
}
output "o" { 
  value = var.outp
  precondition { 
    condition = var.outp != "q"
     error_message = "x"
  }
}
output "o2" { 
  value = module.m[0].z
  precondition { 
    condition = terraform_data.a.id != ""
     error_message = "x"
  }
}
check "c" { 
  assert { 
    condition = terraform_data.a.id != ""
     error_message = "x"
  }
}
module "m" { 
  source = "./m"
  count = 2
  x = var.inmod 
}
