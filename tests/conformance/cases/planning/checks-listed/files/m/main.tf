variable "x" { 
  validation { 
    condition = var.x != "zz"
    error_message = "x" 
  }
}
variable "y" { 
  default = 1
  validation { 
    condition = var.y != "zz"
    error_message = "x" 
  }
}
resource "terraform_data" "a" { 
  input = var.x
  lifecycle { 
    precondition { 
     condition = var.x == "a"
     error_message = "x"
    }
  }
}
output "z" { 
  value = var.y
  precondition { 
    condition = var.x == "a"
     error_message = "x"
  }
}
output "unused" { 
  value = 1
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
