terraform {
  required_providers {
    aws = {
      source  = "registry.terraform.io/hashicorp/aws"
      version = "~> 5.0"
    }
  }
}

variable "endpoint" {
  type        = string
  description = "Where the pretended AWS listens."
}

provider "aws" {
  region                      = "eu-west-1"
  access_key                  = "pretended"
  secret_key                  = "pretended"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  s3_use_path_style           = true
  max_retries                 = 1

  endpoints {
    cloudwatchlogs = var.endpoint
    dynamodb       = var.endpoint
    iam            = var.endpoint
    kms            = var.endpoint
    lambda         = var.endpoint
    s3             = var.endpoint
    s3control      = var.endpoint
    ssm            = var.endpoint
    sts            = var.endpoint
  }
}
